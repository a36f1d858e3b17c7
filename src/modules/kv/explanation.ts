import type { Build, Deed, Fact, ModuleExplanation, Telling } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { addressLabel } from './address.ts';
import { sendError } from './answer.ts';
import { COMMANDS } from './commands.ts';
import type { KvConfig } from './config.ts';
import { readArgs } from './handler.ts';
import type { Provisioned } from './sources.ts';
import type { Store } from './store.ts';

/** A store that nobody has opened. */
const CLOSED: Store = {
  label: '',
  state: 'error',
  run: () => {
    throw new Error('a store that is not open was asked');
  },
  close: () => Promise.resolve(),
};

/** The command as it would be sent. */
export const explanation: ModuleExplanation<KvConfig, Provisioned> = {
  provision: () => CLOSED,
  tell: (config, _store, build) => ({ content: tellCommand(config, build) }),
};

function tellCommand(config: KvConfig, build: Build): Telling {
  const row = COMMANDS[config.command];
  const readKey = config.key ? build.value(config.key) : (x: Exchange) => x.uri.slice(1);
  const addressOf = compileAddress(config, build);
  return (x): Deed | undefined => {
    if (!row.methods.includes(x.method)) {
      x.setHeader('Allow', row.methods.join(', '));
      sendError(x, 'method_not_allowed');
      return undefined;
    }
    const args = readArgs(x, row, readKey);
    if (typeof args === 'string') {
      sendError(x, args);
      return undefined;
    }
    const words = [config.command.toUpperCase(), ...args.map((arg) => JSON.stringify(arg.toString()))];
    const facts: Fact[] = [
      { label: 'command', value: [...words, ...(row.body ? ['<body>'] : [])].join(' ') },
      { label: 'store', value: addressOf(x) },
    ];
    return { does: `asks the store for "${config.command}"`, facts, unknown: 'what the store says' };
  };
}

function compileAddress({ pass }: KvConfig, build: Build): (x: Exchange) => string {
  if (!pass) return () => '';
  if (pass.kind === 'variable') return build.value(pass.value);
  const label = addressLabel(pass);
  return () => label;
}
