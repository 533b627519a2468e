package memory

const sysProcessVMReadv = 270
