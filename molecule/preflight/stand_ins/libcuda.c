/* Stand-in for the driver's libcuda.so.1: answers from /opt/stand_ins/cuda, "<CUresult of cuInit> <devices>". */
#include <stdio.h>

static int told(int which)
{
    int answers[2] = {0, 8};
    FILE *file = fopen("/opt/stand_ins/cuda", "r");
    if (file) {
        if (fscanf(file, "%d %d", &answers[0], &answers[1]) != 2)
            answers[0] = 999;
        fclose(file);
    }
    return answers[which];
}

int cuInit(unsigned flags) { return flags ? 1 : told(0); }
int cuDeviceGetCount(int *count) { return *count = told(1), 0; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
