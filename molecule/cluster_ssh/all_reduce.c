/* All ranks add their vectors, and each checks every element of the sum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LENGTH (1 << 20)

int main(int argc, char **argv)
{
    int rank, ranks, length, wrong = 0, all_wrong = 0;
    char host[MPI_MAX_PROCESSOR_NAME];
    double *mine = malloc(LENGTH * sizeof *mine);
    double *sum = malloc(LENGTH * sizeof *sum);

    if (!mine || !sum)
        return EXIT_FAILURE;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(host, &length);
    for (int i = 0; i < LENGTH; i++)
        mine[i] = (double)i * (rank + 1);
    MPI_Allreduce(mine, sum, LENGTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    /* i * (1 + 2 + ... + ranks): whole numbers far below 2^53, so the sum is exact. */
    for (int i = 0; i < LENGTH; i++)
        wrong += sum[i] != (double)i * ranks * (ranks + 1) / 2;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d on %s: %d wrong\n", rank, ranks, host, wrong);
    MPI_Finalize();
    return all_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
