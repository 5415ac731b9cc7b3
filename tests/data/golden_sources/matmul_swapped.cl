__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void r_64_512_8_512(__global float* restrict p0, __global const float* restrict p1, __global const float* restrict p2) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int lx = get_local_id(0);
  float s1 = 0.0f;
  int a0 = gx*512;
  int a1 = (gy*8+lx);
  for (int r2 = 0; r2 < 512; r2++) {
    float v2 = p1[a0+r2];
    int a2 = r2*512;
    float v3 = p2[a1+a2];
    s1 += (v2 * v3);
  }
  int a3 = (gx*512+gy*8+lx);
  p0[a3] = s1;
}
