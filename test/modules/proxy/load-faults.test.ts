import { testLoadFaults } from '../../harness/load-faults.ts';

testLoadFaults(import.meta.url);
