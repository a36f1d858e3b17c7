import { parentPort, workerData } from 'node:worker_threads';
import { type ConfigSource, load } from '../pipeline.ts';
import { findingLines } from './candidate.ts';

// What the rules find in the configuration that this thread was started with, one line each; then it ends.
parentPort?.postMessage(await findingLines(load(workerData as ConfigSource)));
