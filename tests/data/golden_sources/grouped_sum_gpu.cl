__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void r_2048_16_128(__global float* restrict p0, __global const float* restrict p1) {
  __local float shared3[16];
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  float s1 = 0.0f;
  int a0 = (gx*2048+lx*128);
  for (int r3 = 0; r3 < 128; r3++) {
    float v2 = p1[a0+r3];
    s1 = (s1 + v2);
  }
  shared3[lx+0] = s1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lx == 0) {
    float s4;
    s4 = 0.0f;
    for (int q = 0; q < 16; q++) {
      s4 = (s4 + shared3[0+q*1+0]);
    }
    p0[gx] = s4;
  }
}
