import { parentPort, workerData } from 'node:worker_threads';
import type { NamedAddress } from '../contract/index.ts';
import { acceptConnections } from './transport/index.ts';

// This thread accepts connections on ports that the workers cannot bind because they are not root.
if (parentPort) void acceptConnections(parentPort, workerData as readonly NamedAddress[]);
