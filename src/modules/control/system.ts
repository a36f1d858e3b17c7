import { VERSION } from '../../version.ts';
import type { Endpoint } from './endpoint.ts';
import { sendOk } from './envelope.ts';

/** `/runtime/system`: what runs here, and what time it thinks it is. */
export const system: Endpoint = {
  name: 'system',
  path: 'system',
  description: 'version, time, Node.js version and process id',
  compile: () => (x) => {
    const nowMs = Date.now();
    sendOk(x, {
      module: 'control_api',
      version: VERSION,
      timestamp: String(nowMs),
      now_ms: String(nowMs),
      time: new Date(nowMs).toISOString(),
      node: process.versions.node,
      pid: String(process.pid),
    });
  },
};
