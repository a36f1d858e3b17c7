import type { Source } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../../contract/index.ts';
import { privateFiles, worldReadableMode, writtenSecrets } from '../secrets.ts';
import { SHOP } from './certificates.ts';

const secretInClear: Rule = {
  id: 'GW320',
  slug: 'secret-in-clear',
  severity: 'warning',
  summary: 'a password or a key is written in the configuration',
  why: 'It gets into version control, backups and all tools that show the configuration.',
  fix: 'Put it into the environment or a file: "${env:NAME}" or "${file:/run/secrets/name}".',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Authorization "Bearer 3f9c0e6b1d";',
  },
  good: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Authorization "Bearer ${file:token}";',
    files: { token: '3f9c0e6b1d' },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, span } of writtenSecrets(config))
      yield {
        at: span,
        message: `"${node.name.value}" has a secret that is written in the configuration`,
        hint: 'use "${env:NAME}" or "${file:PATH}"',
      };
  },
};

const SECRETS_CONF =
  '# gw-ignore-file GW320: the key of a machine that nobody else logs in to\nsecure_link_secret 3f9c0e6b1d;\n';

const configWorldReadable: Rule = {
  id: 'GW321',
  slug: 'config-world-readable',
  severity: 'warning',
  summary: 'a configuration file contains secrets and is readable by all users',
  why: 'Every program on the machine can read the passwords, even one that an attacker has taken over.',
  fix: 'Use chmod 640 with a group of its own, or put the secrets into the environment or a file.',
  bad: {
    in: 'location',
    text: 'include secrets.conf;',
    files: { 'secrets.conf': { text: SECRETS_CONF, mode: 0o644 } },
  },
  good: {
    in: 'location',
    text: 'include secrets.conf;',
    files: { 'secrets.conf': { text: SECRETS_CONF, mode: 0o640 } },
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<Source>();
    for (const { span } of writtenSecrets(config)) {
      const { source } = span;
      if (told.has(source) || source.path === undefined) continue;
      told.add(source);
      const mode = worldReadableMode(source.path);
      if (mode !== undefined)
        yield {
          at: span,
          message: `"${source.name}" contains secrets and is readable by all users (mode ${mode})`,
          hint: 'chmod 640',
        };
    }
  },
};

const keyWorldReadable: Rule = {
  id: 'GW510',
  slug: 'key-world-readable',
  severity: 'error',
  summary: 'a file with a key or with passwords can be read by every user of the system',
  why: 'Any program on the machine can copy it. Who has the key of a certificate can impersonate the site.',
  fix: 'Use chmod 600, or 640 with a group of its own.',
  bad: {
    text: SHOP.text,
    files: { ...SHOP.files, 'shop.key': { keyOf: 'shop.crt', mode: 0o644 } },
  },
  good: SHOP,
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, path, name, holds } of privateFiles(config)) {
      const mode = worldReadableMode(path);
      if (mode === undefined) continue;
      yield {
        at: node,
        message: `"${name}" contains ${holds} and is readable by all users (mode ${mode})`,
        hint: holds === 'secrets' ? 'chmod 600' : 'chmod 640',
        ...(holds === 'password hashes' && { severity: 'warning' }),
      };
    }
  },
};

/** The rules about secrets. */
export const SECRET_RULES: readonly Rule[] = [secretInClear, configWorldReadable, keyWorldReadable];
