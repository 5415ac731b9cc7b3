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
        float v10 = p2[a1+a2];
        float v11 = p2[a1+a2+1];
        float v12 = p2[a1+a2+2];
        float v13 = p2[a1+a2+3];
        float v14 = p2[a1+a2+4];
        float v15 = p2[a1+a2+5];
        float v16 = p2[a1+a2+6];
        float v17 = p2[a1+a2+7];
        s1 += (v9 * v10);
        s2 += (v9 * v11);
        s3 += (v9 * v12);
        s4 += (v9 * v13);
        s5 += (v9 * v14);
        s6 += (v9 * v15);
        s7 += (v9 * v16);
        s8 += (v9 * v17);
      }
      int a3 = (gx*8+gy*512);
      p0[a3] = s1;
      p0[a3+1] = s2;
      p0[a3+2] = s3;
      p0[a3+3] = s4;
      p0[a3+4] = s5;
      p0[a3+5] = s6;
      p0[a3+6] = s7;
      p0[a3+7] = s8;
    }
  }
}
