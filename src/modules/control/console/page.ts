import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The console's page and the headers that go with it. */
export interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230f766e'/%3E%3Cpath d='M8 12h9m-9 8h6m3 0l7-8m0 0h-5m5 0v5' fill='none' stroke='%23fff' stroke-width='2.6' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E";

/** Puts the built script and styles into one answer. Throws when the build left them out. */
export function readPage(): Page {
  const built = builtFiles();
  const script = readFileSync(join(built, 'page.js'), 'utf8').trim();
  const style = readFileSync(join(built, 'page.css'), 'utf8').trim();
  return { html: html(script, style), headers: headers(script, style) };
}

/** Bundles lie at different depths of `dist`. */
function builtFiles(): string {
  for (
    let directory = import.meta.dirname;
    directory !== dirname(directory);
    directory = dirname(directory)
  ) {
    const found = join(directory, 'dist/console');
    if (existsSync(found)) return found;
  }
  throw new Error('the page of the console was not built');
}

function html(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gw console</title>
<link rel="icon" href="${ICON}">
<style>${style}</style>
</head>
<body>
<noscript>The console of gw needs JavaScript.</noscript>
<script>${script}</script>
</body>
</html>
`;
}

/** Nothing is loaded from anywhere, nothing but this script and these styles counts, and nobody frames the page. */
function headers(script: string, style: string): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
