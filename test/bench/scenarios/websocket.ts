import type { Contender } from '../compare.ts';
import { generate } from '../generator/generate.ts';
import { startNginx } from '../nginx.ts';
import { startBareEcho } from '../peers/index.ts';
import { withCpuSeconds } from '../process-tree.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw } from '../servers.ts';
import type { Target } from '../target.ts';

const MESSAGE = 'a message of forty bytes, there and back';

/** A server that is sent messages over WebSockets, on each one when the message before has come back. */
function messageLoad(name: string, { port, pid }: Server): Contender {
  const target: Target = {
    name,
    port,
    traffic: 'websocket',
    requests: [{ path: '/', body: MESSAGE }],
    servers: [pid],
  };
  const round = async (seconds: number) => {
    const { given, cpuSeconds } = await withCpuSeconds(target.servers, () =>
      generate(target, { seconds, warmUpSeconds: 0 }),
    );
    return { requests: given.done, seconds, cpuSeconds };
  };
  return { name, target, round };
}

/** Messages to the same echo behind both. */
export const messages: Scenario = {
  name: 'websocket',
  async open(bench) {
    const echo = await startBareEcho(bench);
    const content = `location / {
      proxy_pass http://127.0.0.1:${echo.port}; proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";
    }`;
    return {
      subject: messageLoad('gw websocket', await startGw(bench, content)),
      peers: [
        {
          line: 'WebSocket, messages there and back / nginx',
          open: async () => messageLoad('nginx websocket', await startNginx(bench, content)),
        },
      ],
    };
  },
};
