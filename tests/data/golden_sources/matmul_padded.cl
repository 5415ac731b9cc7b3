__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void r_70_64_24_4(__global int* restrict p0, __global const char* restrict p1, __global const char* restrict p2) {
  int gy = get_group_id(1);
  int gx = get_group_id(0);
  int s1 = 0;
  int a0 = gy*64;
  bool c2 = (gy) <= 63;
  for (int r5 = 0; r5 < 24; r5++) {
    int a1 = r5*4;
    bool c3 = (r5) <= 15;
    char v2 = ((c2 & c3) ? p1[a0+a1] : ((char)0));
    int a4 = r5*256;
    char v3 = (c3 ? p2[gx+a4] : ((char)0));
    char v4 = ((char)(v2 * v3));
    int v5 = ((int)(v4));
    char v6 = ((c2 & c3) ? p1[a0+a1+1] : ((char)0));
    char v7 = (c3 ? p2[gx+a4+64] : ((char)0));
    char v8 = ((char)(v6 * v7));
    int v9 = ((int)(v8));
    char v10 = ((c2 & c3) ? p1[a0+a1+2] : ((char)0));
    char v11 = (c3 ? p2[gx+a4+128] : ((char)0));
    char v12 = ((char)(v10 * v11));
    int v13 = ((int)(v12));
    char v14 = ((c2 & c3) ? p1[a0+a1+3] : ((char)0));
    char v15 = (c3 ? p2[gx+a4+192] : ((char)0));
    char v16 = ((char)(v14 * v15));
    int v17 = ((int)(v16));
    int v18 = ((c3 ? v5 : 0) + (c3 ? v9 : 0));
    int v19 = ((c3 ? v13 : 0) + (c3 ? v17 : 0));
    int v20 = (v18 + v19);
    s1 = (s1 + v20);
  }
  int a5 = (gx+gy*64);
  if (c2) p0[a5] = s1;
}
