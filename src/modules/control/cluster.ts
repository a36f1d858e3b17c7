import type { Endpoint } from './endpoint.ts';

/** `/runtime/cluster`: gives the clusters of this gateway, as its node sees them. */
export const cluster: Endpoint = {
  name: 'cluster',
  path: 'cluster',
  description: 'clusters of gateways: their nodes, how far their streams are read, and what is missing',
  compile({ resources: { worker } }) {
    return (x) => {
      const clusters = [...worker.clusters].map(([name, { nodeId, status }]) => ({
        name,
        node_id: nodeId,
        ...(status ?? {
          state: 'starting',
          members_total: 0,
          members: [],
          streams: [],
          conflicts: [],
          warnings: [],
          buffer_bytes: 0,
        }),
      }));
      x.send(200, 'application/json', JSON.stringify({ status: 'ok', clusters }));
    };
  },
};
