__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void E_35_4(__global const char* restrict p0, __global const char* restrict p1, __global char* restrict p2) {
  int gx = get_group_id(0);
  int a0 = gx*4;
  char v1 = p0[a0];
  char v2 = p1[a0];
  char v3 = ((char)((v2 == ((char)(-1))) ? ((char)(0) - v1) : (v1 / ((v2 == ((char)(0))) || (v2 == ((char)(-1))) ? ((char)(1)) : v2))));
  char v4 = ((char)((v2 == ((char)(-1))) ? ((char)(0)) : (v1 % ((v2 == ((char)(0))) || (v2 == ((char)(-1))) ? ((char)(1)) : v2))));
  char v5 = ((char)(v3 + v4));
  p2[a0] = v5;
  char v6 = p0[a0+1];
  char v7 = p1[a0+1];
  char v8 = ((char)((v7 == ((char)(-1))) ? ((char)(0) - v6) : (v6 / ((v7 == ((char)(0))) || (v7 == ((char)(-1))) ? ((char)(1)) : v7))));
  char v9 = ((char)((v7 == ((char)(-1))) ? ((char)(0)) : (v6 % ((v7 == ((char)(0))) || (v7 == ((char)(-1))) ? ((char)(1)) : v7))));
  char v10 = ((char)(v8 + v9));
  p2[a0+1] = v10;
  char v11 = p0[a0+2];
  char v12 = p1[a0+2];
  char v13 = ((char)((v12 == ((char)(-1))) ? ((char)(0) - v11) : (v11 / ((v12 == ((char)(0))) || (v12 == ((char)(-1))) ? ((char)(1)) : v12))));
  char v14 = ((char)((v12 == ((char)(-1))) ? ((char)(0)) : (v11 % ((v12 == ((char)(0))) || (v12 == ((char)(-1))) ? ((char)(1)) : v12))));
  char v15 = ((char)(v13 + v14));
  p2[a0+2] = v15;
  char v16 = p0[a0+3];
  char v17 = p1[a0+3];
  char v18 = ((char)((v17 == ((char)(-1))) ? ((char)(0) - v16) : (v16 / ((v17 == ((char)(0))) || (v17 == ((char)(-1))) ? ((char)(1)) : v17))));
  char v19 = ((char)((v17 == ((char)(-1))) ? ((char)(0)) : (v16 % ((v17 == ((char)(0))) || (v17 == ((char)(-1))) ? ((char)(1)) : v17))));
  char v20 = ((char)(v18 + v19));
  p2[a0+3] = v20;
}
