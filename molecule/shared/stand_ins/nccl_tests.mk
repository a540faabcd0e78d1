# Stand-in for the Makefile of nccl-tests: compiles nothing; ends after the first program where it is told to, as a build
# that is killed may.
default:
	test "$(MPI)" = 1 && test -n "$(MPI_HOME)"
	mkdir -p build
	touch build/all_reduce_perf
	test ! -e /opt/stand_ins/build_breaks_off
	touch build/sendrecv_perf
