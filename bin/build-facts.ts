import { MODULE_NAMES } from '../src/pipeline.ts';

/** The lines of `-V` below the version: what gw runs on and what is in it. */
export function buildFacts(): string {
  const { node, v8, openssl } = process.versions;
  return `built with Node.js ${node} (V8 ${v8})
built with OpenSSL ${openssl}
configure arguments: ${MODULE_NAMES.map((name) => `--with-${name}_module`).join(' ')}
`;
}
