/* Stand-in for libnccl.so.2: tells a version and does nothing else. */
int ncclGetVersion(int *version)
{
    *version = VERSION_CODE;
    return 0;
}
