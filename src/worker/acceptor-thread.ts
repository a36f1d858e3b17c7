import { parentPort, workerData } from 'node:worker_threads';
import { acceptConnections, type AcceptorStart } from './transport/index.ts';

// This thread accepts connections on ports that the workers cannot open: they are not root, or the sockets are inherited.
if (parentPort) void acceptConnections(parentPort, workerData as AcceptorStart);
