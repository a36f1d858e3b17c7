// Loaded into every thread of a gateway by `--import`: its clock is ahead by the milliseconds in a file.
import { readFileSync } from 'node:fs';

const now = Date.now;

function aheadMs() {
  try {
    return Number(readFileSync(process.env.GW_TEST_CLOCK, 'utf8'));
  } catch {
    return 0;
  }
}

Date.now = () => now() + aheadMs();
