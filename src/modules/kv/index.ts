import {
  type Build,
  type ExplainedAction,
  type ExplainScope,
  type ExplainedFact,
  type ModuleExplanation,
  moduleFor,
  type Explainer,
} from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { AddressFault, DEFAULT_PORT } from '../../redis/index.ts';
import { HostPolicy } from '../../upstream/index.ts';
import { addressLabel, parseRequestAddress, requestHostOf } from './address.ts';
import { sendError } from './response.ts';
import { COMMANDS, type Store } from './commands.ts';
import { directives, type KvConfig } from './directives.ts';
import { compileCommand, readArgs, refuseHost } from './handler.ts';
import { probeStore } from './live.ts';
import { variables } from './outcome.ts';
import { compileSource, type Provisioned, provisionStore } from './sources.ts';

/** A store that is not open. */
interface ClosedStore extends Store {
  isBlock(name: string): boolean;
}

function closed(_config: KvConfig, scope: ExplainScope): ClosedStore {
  return {
    label: '',
    state: 'error',
    run: () => {
      throw new Error('a store that is not open was asked');
    },
    close: () => Promise.resolve(),
    isBlock: (name) => scope.upstream(name) !== undefined,
  };
}

/** Explains the command that would be sent. */
const explanation: ModuleExplanation<KvConfig, Provisioned> = {
  provision: closed,
  explain: (config, store, build) => ({ content: tellCommand(config, store as ClosedStore, build) }),
};

function tellCommand(config: KvConfig, store: ClosedStore, build: Build): Explainer {
  const row = COMMANDS[config.command];
  const readKey = config.key ? build.value(config.key) : (x: Exchange) => x.uri.slice(1);
  const addressOf = compileAddress(config, store, build);
  return (x): ExplainedAction | undefined => {
    if (!row.methods.includes(x.method)) {
      x.response.setHeader('Allow', row.methods.join(', '));
      sendError(x, 'method_not_allowed');
      return undefined;
    }
    const args = readArgs(x, row, readKey);
    if (typeof args === 'string') {
      sendError(x, args);
      return undefined;
    }
    const address = addressOf(x);
    if (address === undefined) return undefined;
    const words = [config.command.toUpperCase(), ...args.map((arg) => JSON.stringify(arg.toString()))];
    const facts: ExplainedFact[] = [
      { label: 'command', value: [...words, ...(row.body ? ['<body>'] : [])].join(' ') },
      { label: 'store', value: address },
    ];
    return { does: `asks the store for "${config.command}"`, facts, unknown: 'the reply of the store' };
  };
}

/** Compiles the store that a request names; `undefined` if it is not allowed, and then the response has been sent. */
function compileAddress(
  { pass, allowHosts }: KvConfig,
  { isBlock }: ClosedStore,
  build: Build,
): (x: Exchange) => string | undefined {
  if (!pass) return () => '';
  if (pass.kind !== 'variable') {
    const label = addressLabel(pass);
    return () => label;
  }
  const render = build.value(pass.value);
  const policy = HostPolicy.of(pass.value, allowHosts, () => build.origins(pass.value));
  return (x) => {
    const text = render(x);
    const address = parseRequestAddress(text);
    if (!policy || address instanceof AddressFault) return text;
    if (address.kind === 'name' && isBlock(address.name)) return text;
    const named = requestHostOf(address);
    try {
      const isSettled = policy.settles(named, named.port ?? DEFAULT_PORT);
      return isSettled ? text : `${text}, whose addresses are looked up: not all are allowed`;
    } catch (error) {
      refuseHost(x, error);
      return undefined;
    }
  };
}

/** Key-value access: each location runs one command of Redis, Valkey or the embedded store. */
export const kv = moduleFor<KvConfig>()({
  name: 'kv',
  directives,
  variables,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  sensitive: ({ command }) => {
    const { methods } = COMMANDS[command];
    return methods.includes('GET') ? undefined : { rule: 'kv-write-public', field: 'command', methods };
  },
  writes: ({ pass }) => ({ directories: pass?.kind === 'embedded' ? [pass.dir] : [] }),
  probe: probeStore,
  provision: provisionStore,
  compile: (config, provisioned, build) => ({
    content: compileCommand(config, compileSource(provisioned, config, build), build),
    tooLarge: (x) => sendError(x, 'body_too_large'),
  }),
  explanation,
  rules: () => import('./rules.ts'),
});
