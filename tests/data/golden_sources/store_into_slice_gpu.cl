#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel __attribute__((reqd_work_group_size(8, 4, 1))) void E_4_8_4(__global half* restrict p0, __global const half* restrict p1) {
  int lx = get_local_id(0);
  int ly = get_local_id(1);
  int a0 = (lx*4+ly*32);
  half v1 = p1[a0];
  int a1 = (lx*4+ly*64);
  p0[a1+208] = v1;
  half v2 = p1[a0+1];
  p0[a1+208+1] = v2;
  half v3 = p1[a0+2];
  p0[a1+208+2] = v3;
  half v4 = p1[a0+3];
  p0[a1+208+3] = v4;
}
