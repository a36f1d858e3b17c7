import { statSync } from 'node:fs';
import type { DirectiveNode, Span } from '../../grammar/index.ts';
import { secretSpans } from '../config/index.ts';
import type { CheckedConfig } from '../contract/index.ts';

/** A secret that stands in the configuration, and the directive that takes it. */
interface WrittenSecret {
  readonly node: DirectiveNode;
  readonly span: Span;
}

/** Expanded at load; a default in it is for trying things out. */
const EXPANSIONS = /\$\{(?:env|file):[^}]*\}/g;
const VARIABLES = /\$(?:\{\w+\}|\w+)/g;
const PUBLIC_KEY = /-----BEGIN (?:PUBLIC KEY|CERTIFICATE)-----|"kty"\s*:\s*"(?:RSA|EC|OKP)"/;

/** Each directive with a secret of its own, in file order of their names; of several secrets the first. */
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

/** Everybody may know it: tokens are verified with it, and cannot be signed. */
function isPublicKey(text: string): boolean {
  return PUBLIC_KEY.test(text) && !/"d"\s*:/.test(text);
}

/** Inside an expansion. */
function isDefault({ source, start, end }: Span, { span: whole }: DirectiveNode): boolean {
  const text = source.text.slice(whole.start, whole.end);
  return [...text.matchAll(EXPANSIONS)].some(
    ({ index, 0: { length } }) => whole.start + index <= start && end <= whole.start + index + length,
  );
}

const WORLD_READABLE = 0o004;
/** Containers get their secrets there, readable by all that runs in them. */
const SECRETS = /^(?:\/var)?\/run\/secrets\//;

/** How chmod calls the mode of a file that every user of the machine may read, else `undefined`. */
export function worldReadableMode(path: string): string | undefined {
  if (SECRETS.test(path)) return undefined;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & WORLD_READABLE) === 0 ? undefined : (mode & 0o777).toString(8).padStart(4, '0');
}
