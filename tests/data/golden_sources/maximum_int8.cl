__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void r_160_5_8(__global const char* restrict p0, __global char* restrict p1) {
  int gx = get_group_id(0);
  if (gx <= 143) {
    char s1 = ((char)(-128));
    for (int r3 = 0; r3 < 5; r3++) {
      int a0 = r3*1152;
      char v2 = p0[gx+a0];
      s1 = (s1 < v2 ? v2 : s1);
      char v3 = p0[gx+a0+144];
      s1 = (s1 < v3 ? v3 : s1);
      char v4 = p0[gx+a0+288];
      s1 = (s1 < v4 ? v4 : s1);
      char v5 = p0[gx+a0+432];
      s1 = (s1 < v5 ? v5 : s1);
      char v6 = p0[gx+a0+576];
      s1 = (s1 < v6 ? v6 : s1);
      char v7 = p0[gx+a0+720];
      s1 = (s1 < v7 ? v7 : s1);
      char v8 = p0[gx+a0+864];
      s1 = (s1 < v8 ? v8 : s1);
      char v9 = p0[gx+a0+1008];
      s1 = (s1 < v9 ? v9 : s1);
    }
    p1[gx] = s1;
  }
}
