import { parentPort, workerData } from 'node:worker_threads';
import type { NamedAddress } from '../contract/index.ts';
import { acceptConnections } from './transport/index.ts';

// The thread that accepts connections on ports that the workers may not bind, since they are not root.
if (parentPort) void acceptConnections(parentPort, workerData as readonly NamedAddress[]);
