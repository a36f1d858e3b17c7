import { randomBytes } from 'node:crypto';
import { moduleFor } from '../../contract/index.ts';
import type { VariableDefinition } from '../../contract/index.ts';
import type { UserIdConfig } from './config.ts';
import { directives } from './directives.ts';
import { UserIdSource } from './user-id.ts';
import { Visitors, readReset, writeReset } from './visitor.ts';

const GOT = 'Name and id of the cookie that the client sent.';
const SET = 'Name and id of the cookie that the answer sets.';
const nothing = (summary: string): VariableDefinition => ({ summary, compile: () => () => undefined });

/** Cookies by which visitors are known again. */
export const userid = moduleFor<UserIdConfig>()<UserIdSource>({
  name: 'userid',
  directives,
  variables: {
    uid_got: nothing(GOT),
    uid_set: nothing(SET),
    uid_reset: {
      summary: 'Set to something but 0, the client gets a new cookie; `log` also logs that.',
      compile: () => readReset,
      assign: writeReset,
    },
  },
  enabled: ({ mode }) => mode !== 'off',
  provision: (_config, worker) =>
    worker.share(
      'userid',
      () => new UserIdSource(randomBytes(4).readUInt32LE()),
      () => undefined,
    ),
  defines: (config, source) => ({
    uid_got: { summary: GOT, compile: (build) => new Visitors(config, source, build).got },
    uid_set: { summary: SET, live: true, compile: (build) => new Visitors(config, source, build).set },
  }),
  compile: (config, source, build) => ({ filter: new Visitors(config, source, build).filter }),
});
