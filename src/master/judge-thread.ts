import { parentPort, workerData } from 'node:worker_threads';
import { guardRegexes } from '../config/index.ts';
import { type ConfigSource, load } from '../pipeline.ts';
import { findingLines } from './candidate.ts';

// Threads that read configurations at the same time must not change the flags of V8 for each pattern.
guardRegexes();

// Sends the findings for the configuration of `workerData`, one line each, and ends.
void findingLines(load(workerData as ConfigSource)).then((lines) => parentPort?.postMessage(lines));
