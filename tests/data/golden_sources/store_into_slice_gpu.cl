#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel __attribute__((reqd_work_group_size(8, 4, 1))) void E_4_8_4(__global half* restrict p0, __global const half* restrict p1) {
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  int a0 = (lx*4+ly*32);
  half4 v1 = *((__global const half4*)(p1 + (a0)));
  int a1 = (lx*4+ly*64);
  *((__global half4*)(p0 + (a1+208))) = (half4)(v1.s0, v1.s1, v1.s2, v1.s3);
}
