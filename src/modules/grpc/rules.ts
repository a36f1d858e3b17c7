import type { DirectiveNode } from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../contract/index.ts';
import type { GrpcConfig } from './config.ts';

const grpcWithoutHttp2: ModuleRule<GrpcConfig> = {
  id: 'GW435',
  slug: 'grpc-without-http2',
  severity: 'warning',
  summary: '"grpc_pass" in a server without HTTP/2',
  why: 'gRPC clients support only HTTP/2, and the status of a call is in trailers, which HTTP/1.1 clients rarely get.',
  fix: 'Write "http2 on;" in the server, or in "http" for all servers.',
  bad: { text: 'location / { grpc_pass 127.0.0.1:50051; }' },
  good: { text: 'http2 on;\nlocation / { grpc_pass 127.0.0.1:50051; }' },
  *check(config): Iterable<Problem> {
    const servers = serversOf(config);
    for (const { node, block } of config.uses('grpc_pass')) {
      const server = serverOf(block);
      if (!server || isReachable(server, servers)) continue;
      yield {
        at: node,
        message: 'gRPC clients cannot use it: the server only supports HTTP/1.1',
        hint: 'add "http2 on" to the server',
      };
    }
  },
};

function serverOf(block: BlockView): BlockView | undefined {
  let at: BlockView | undefined = block;
  while (at && at.context !== 'server') at = at.outer;
  return at;
}

function serversOf(config: CheckedModule<GrpcConfig>): readonly BlockView[] {
  return [...new Set(config.uses('listen').map(({ block }) => block))];
}

/** Tells whether a port of the server accepts HTTP/2, due to this server or to another one with the same port. */
function isReachable(server: BlockView, servers: readonly BlockView[]): boolean {
  const own = server.own('listen');
  if (own.length === 0) return isOn(server);
  const ports = new Set(own.map(({ args }) => args[0]?.value));
  const speaks = (other: BlockView, listen: DirectiveNode): boolean =>
    ports.has(listen.args[0]?.value) && (has(listen, 'http2') || (isOn(other) && !has(listen, 'engine=uws')));
  return servers.some((other) => other.own('listen').some((listen) => speaks(other, listen)));
}

function isOn(server: BlockView): boolean {
  return server.effective('http2').some(({ args }) => args[0]?.value.toLowerCase() === 'on');
}

function has({ args }: DirectiveNode, parameter: string): boolean {
  return args.some(({ value }) => value === parameter);
}

/** The rules about gRPC. */
export const rules: readonly ModuleRule<GrpcConfig>[] = [grpcWithoutHttp2];
