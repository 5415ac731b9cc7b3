__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void r_512_512_512(__global float* restrict p0, __global const float* restrict p1, __global const float* restrict p2) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  float s1 = 0.0f;
  int a0 = gy*512;
  for (int r2 = 0; r2 < 512; r2++) {
    float v2 = p1[a0+r2];
    int a1 = r2*512;
    float v3 = p2[gx+a1];
    s1 += (v2 * v3);
  }
  int a2 = (gx+gy*512);
  p0[a2] = s1;
}
