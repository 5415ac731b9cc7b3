__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void r_160_5_8(__global const char* restrict p0, __global char* restrict p1) {
  int gx = get_group_id(0);
  char s1 = ((char)(-128));
  bool c1 = (gx) <= 143;
  for (int r3 = 0; r3 < 5; r3++) {
    int a0 = r3*1152;
    char v2 = (c1 ? p0[gx+a0] : ((char)0));
    s1 = (s1 < v2 ? v2 : s1);
    char v3 = (c1 ? p0[gx+a0+144] : ((char)0));
    s1 = (s1 < v3 ? v3 : s1);
    char v4 = (c1 ? p0[gx+a0+288] : ((char)0));
    s1 = (s1 < v4 ? v4 : s1);
    char v5 = (c1 ? p0[gx+a0+432] : ((char)0));
    s1 = (s1 < v5 ? v5 : s1);
    char v6 = (c1 ? p0[gx+a0+576] : ((char)0));
    s1 = (s1 < v6 ? v6 : s1);
    char v7 = (c1 ? p0[gx+a0+720] : ((char)0));
    s1 = (s1 < v7 ? v7 : s1);
    char v8 = (c1 ? p0[gx+a0+864] : ((char)0));
    s1 = (s1 < v8 ? v8 : s1);
    char v9 = (c1 ? p0[gx+a0+1008] : ((char)0));
    s1 = (s1 < v9 ? v9 : s1);
  }
  if (c1) p1[gx] = s1;
}
