/* Stand-in for libcuda.so.1: cuInit succeeds where the stand-in modules are "loaded" and, with NVSwitches, the stand-in
   fabric manager runs; the codes are CUresult's. */
#include <unistd.h>
#define FOLDER "/opt/stand_ins/"

int cuInit(unsigned flags)
{
    (void)flags;
    if (access(FOLDER "sys/module/nvidia", F_OK))
        return 100; /* CUDA_ERROR_NO_DEVICE */
    if (access(FOLDER "sys/module/nvidia_uvm", F_OK))
        return 999; /* CUDA_ERROR_UNKNOWN */
    /* The first NVSwitch of the profile. */
    if (!access(FOLDER "sys/bus/pci/devices/0000:05:00.0", F_OK) && access(FOLDER "fabric_is_up", F_OK))
        return 802; /* CUDA_ERROR_SYSTEM_NOT_READY */
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = 8;
    return 0;
}
