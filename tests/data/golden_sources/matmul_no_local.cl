__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void r_512_64_512_8(__global float* restrict p0, __global const float* restrict p1, __global const float* restrict p2) {
  for (int gy = 0; gy < 512; gy++) {
    for (int gx = 0; gx < 64; gx++) {
      float s1 = 0.0f;
      float s2 = 0.0f;
      float s3 = 0.0f;
      float s4 = 0.0f;
      float s5 = 0.0f;
      float s6 = 0.0f;
      float s7 = 0.0f;
      float s8 = 0.0f;
      int a0 = gy*512;
      int a1 = gx*8;
      for (int r2 = 0; r2 < 512; r2++) {
        float v9 = p1[a0+r2];
        int a2 = r2*512;
        float4 v10 = *((__global const float4*)(p2 + (a1+a2)));
        float4 v11 = *((__global const float4*)(p2 + (a1+a2+4)));
        s1 += (v9 * v10.s0);
        s2 += (v9 * v10.s1);
        s3 += (v9 * v10.s2);
        s4 += (v9 * v10.s3);
        s5 += (v9 * v11.s0);
        s6 += (v9 * v11.s1);
        s7 += (v9 * v11.s2);
        s8 += (v9 * v11.s3);
      }
      int a3 = (gx*8+gy*512);
      *((__global float4*)(p0 + (a3))) = (float4)(s1, s2, s3, s4);
      *((__global float4*)(p0 + (a3+4))) = (float4)(s5, s6, s7, s8);
    }
  }
}
