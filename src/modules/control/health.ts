import type { Endpoint } from './endpoint.ts';
import { sendError, sendOk } from './envelope.ts';

/** `/runtime/health`: 200 as long as new requests are welcome. */
export const health: Endpoint = {
  name: 'health',
  path: 'health',
  harmless: true,
  description: 'health of the gateway: uptime, workers and configuration; 503 while it drains',
  compile({ resources: { worker } }) {
    const facts = {
      service: 'control_api',
      workers: String(worker.workers),
      config_generation: String(worker.generation),
    };
    return (x) => {
      if (worker.draining || worker.retiring.aborted) return sendError(x, 503, 'draining');
      return sendOk(x, { ...facts, uptime_s: String(Math.floor(process.uptime())) });
    };
  },
};
