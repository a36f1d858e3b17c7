import { parentPort, workerData } from 'node:worker_threads';
import { type ConfigSource, load } from '../pipeline.ts';
import { findingLines } from './candidate.ts';

// Sends the findings for the configuration of `workerData`, one line each, and ends.
void findingLines(load(workerData as ConfigSource)).then((lines) => parentPort?.postMessage(lines));
