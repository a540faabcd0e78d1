# Stand-in for the Makefile of nccl-tests: asks the stand-in for nvcc about the architectures, and makes programs that
# print the lines of real ones; ends after the first program where it is told to, as a build that is killed may.
MPI ?= 0
CUDA_HOME ?= /usr/local/cuda
# The default of the real one on CUDA 12.8 and later.
NVCC_GENCODE ?= $(foreach number,60 61 70 80 90 100 120,-gencode=arch=compute_$(number),code=sm_$(number))
default:
	test "$(MPI)" = 1 && test -e "$(MPI_HOME)/include/mpi.h"
	mkdir -p build
	echo "$(MAKEFLAGS)" | tr ' ' '\n' | grep '^-j' >build/jobs
	$(CUDA_HOME)/bin/nvcc $(NVCC_GENCODE) -o build/all_reduce.o -c all_reduce.cu
	install -m 0755 /opt/stand_ins/all_reduce_perf build/
	test ! -e /opt/stand_ins/build_breaks_off
	touch build/sendrecv_perf
