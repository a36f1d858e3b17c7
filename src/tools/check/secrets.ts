import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DirectiveNode, Span } from '../../../grammar/index.ts';
import { type AnyRow, rolesOf, secretSpans } from '../../config/index.ts';
import type { CheckedConfig } from '../../contract/index.ts';

/** A secret written in the configuration, and its directive. */
interface WrittenSecret {
  readonly node: DirectiveNode;
  readonly span: Span;
}

/** A reference that is expanded when the configuration loads; its default value is only for tests. */
const EXPANSIONS = /\$\{(?:env|file):[^}]*\}/g;
const FILES = /\$\{file:([^}]+)\}/g;
const VARIABLES = /\$(?:\{\w+\}|\w+)/g;
const PUBLIC_KEY = /-----BEGIN (?:PUBLIC KEY|CERTIFICATE)-----|"kty"\s*:\s*"(?:RSA|EC|OKP)"/;

/** The directives with written secrets, in file order, each with its first secret. */
export function writtenSecrets({ registry, uses }: CheckedConfig): readonly WrittenSecret[] {
  const names = registry.entries.flatMap(({ name, row }) => (row.secret ? name : []));
  return uses(...new Set(names)).flatMap(({ node }) => {
    const { block: _inner, ...alone } = node;
    const span = secretSpans({ directives: [alone], sources: [] }, registry).find((one) =>
      isWritten(one, node),
    );
    return span ? [{ node, span }] : [];
  });
}

function isWritten(span: Span, node: DirectiveNode): boolean {
  const text = span.source.text.slice(span.start, span.end);
  const written = text.replace(EXPANSIONS, '').replace(VARIABLES, '');
  return /\w/.test(written) && !isPublicKey(text) && !isDefault(span, node);
}

/** A file that others must not read, and the directive that names it. */
interface PrivateFile {
  readonly node: DirectiveNode;
  readonly path: string;
  /** The path as written. */
  readonly name: string;
  readonly holds: 'secrets' | 'password hashes';
}

/** The files with secrets: those that rows declare, and those from which secrets are read (`${file:…}`); each once for a directive. */
export function privateFiles({ tree, registry, uses }: CheckedConfig): readonly PrivateFile[] {
  const main = tree.sources[0]?.path;
  if (main === undefined) return [];
  const names = registry.entries.flatMap(({ name, row }) => (row.secret || isPrivate(row) ? name : []));
  // What is included twice is used twice.
  const nodes = new Set(uses(...new Set(names)).map(({ node }) => node));
  return [...nodes].flatMap((node) => {
    const row = registry
      .named(node.name.value)
      .find((entry) => entry.row.secret || isPrivate(entry.row))?.row;
    return filesOf(node, row).map((file) => ({ ...file, node, path: resolve(dirname(main), file.name) }));
  });
}

function isPrivate({ roles = [] }: AnyRow): boolean {
  return roles.some((role) => role.kind === 'path' && role.holds !== undefined);
}

function filesOf(
  { args }: DirectiveNode,
  row: AnyRow | undefined,
): readonly Pick<PrivateFile, 'name' | 'holds'>[] {
  const named = rolesOf(row, args).flatMap(({ role, word: { value: name } }) =>
    role.kind === 'path' && role.holds !== undefined ? { name, holds: role.holds } : [],
  );
  // Of other values only the name tells whether they are secret.
  if (row?.secret !== 'whole' && row?.secret !== 'password') return named;
  const texts = args.filter(({ value }) => !isPublicKey(value)).map(({ span }) => span);
  const read = texts.flatMap(({ source, start, end }) => [...source.text.slice(start, end).matchAll(FILES)]);
  return [...named, ...read.map(([, name = '']) => ({ name, holds: 'secrets' as const }))];
}

/** True for a public key, which verifies tokens but cannot sign them. */
function isPublicKey(text: string): boolean {
  return PUBLIC_KEY.test(text) && !/"d"\s*:/.test(text);
}

/** True for a span inside an expansion. */
function isDefault({ source, start, end }: Span, { span: whole }: DirectiveNode): boolean {
  const text = source.text.slice(whole.start, whole.end);
  return [...text.matchAll(EXPANSIONS)].some(
    ({ index, 0: { length } }) => whole.start + index <= start && end <= whole.start + index + length,
  );
}

const WORLD_READABLE = 0o004;
/** The directory for secrets in containers, readable by all their processes. */
const SECRETS = /^(?:\/var)?\/run\/secrets\//;

/** The mode of a file that every user of the machine can read, as for chmod; else `undefined`. */
export function worldReadableMode(path: string): string | undefined {
  if (SECRETS.test(path)) return undefined;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & WORLD_READABLE) === 0 ? undefined : (mode & 0o777).toString(8).padStart(4, '0');
}
