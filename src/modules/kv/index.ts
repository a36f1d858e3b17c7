import { moduleFor } from '../../contract/index.ts';
import { sendError } from './answer.ts';
import { COMMANDS } from './commands.ts';
import type { KvConfig } from './config.ts';
import { directives } from './directives.ts';
import { explanation } from './explanation.ts';
import { compileCommand } from './handler.ts';
import { probeStore } from './live.ts';
import { compileSource, provisionStore } from './sources.ts';
import { variables } from './variables.ts';

/** Key-value access: one command of Redis, Valkey or the embedded store per location. */
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
});
