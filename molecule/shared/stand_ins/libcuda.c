/* Stand-in for libcuda.so.1; the codes are CUresult's. cuInit succeeds where the stand-in modules are "loaded" and, with
   NVSwitches, the stand-in fabric manager runs; the file cuda, "<CUresult of cuInit> <devices>", overrules that. As with
   the real one no other call works before cuInit, and an empty CUDA_VISIBLE_DEVICES hides all devices. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifndef FOLDER
#define FOLDER "/opt/stand_ins/"
#endif

static int devices = -1; /* before cuInit */

static int modules(void)
{
    if (access(FOLDER "sys/module/nvidia", F_OK))
        return 100; /* CUDA_ERROR_NO_DEVICE */
    if (access(FOLDER "sys/module/nvidia_uvm", F_OK))
        return 999; /* CUDA_ERROR_UNKNOWN */
    /* The first NVSwitch of the profile. */
    if (!access(FOLDER "sys/bus/pci/devices/0000:05:00.0", F_OK) && access(FOLDER "fabric_is_up", F_OK))
        return 802; /* CUDA_ERROR_SYSTEM_NOT_READY */
    return 0;
}

int cuInit(unsigned flags)
{
    int code, count = 8;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    FILE *file = fopen(FOLDER "cuda", "r");
    if (flags)
        return 1; /* CUDA_ERROR_INVALID_VALUE */
    if (!file)
        code = modules();
    else if (fscanf(file, "%d %d", &code, &count) != 2)
        code = 999;
    if (file)
        fclose(file);
    if (!code && visible && !*visible)
        code = 100;
    devices = code ? -1 : count;
    return code;
}

int cuDeviceGetCount(int *count)
{
    if (devices < 0)
        return 3; /* CUDA_ERROR_NOT_INITIALIZED */
    *count = devices;
    return 0;
}

int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
