/* Times MPI_Allreduce in place, as workloads/collectives/measure.py --library=mpi does, without Python.
 *
 * usage: all_reduce_loop BYTES WARMUP ITERATIONS
 * Prints the seconds of each operation after the warm-up, the mean over the ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, ranks, count, warmup, iterations, i;
	float *buffer;
	double *seconds, *sums;

	MPI_Init(&argc, &argv);
	if (argc != 4)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	count = atoi(argv[1]) / sizeof(float);
	warmup = atoi(argv[2]);
	iterations = atoi(argv[3]);
	buffer = calloc(count, sizeof(float));
	seconds = calloc(iterations, sizeof(double));
	sums = calloc(iterations, sizeof(double));
	for (i = 0; i < count; i++)
		buffer[i] = i % 31 + rank;
	for (i = -warmup; i < iterations; i++) {
		double begin;

		if (i == 0)
			MPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		if (i >= 0)
			seconds[i] = MPI_Wtime() - begin;
	}
	MPI_Reduce(seconds, sums, iterations, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	for (i = 0; rank == 0 && i < iterations; i++)
		printf("%.9f\n", sums[i] / ranks);
	MPI_Finalize();
	return 0;
}
