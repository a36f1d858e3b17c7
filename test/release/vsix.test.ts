import type { EventEmitter } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { XMLParser } from 'fast-xml-parser';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GW } from '../harness/gateway.ts';
import { makeArtifact, VERSION } from './artifacts.ts';

const dir = mkdtempSync(join(tmpdir(), 'gw-vsix-'));
const FILE = `gw-${VERSION}.vsix`;
let packed: Buffer;
let files: Readonly<Record<string, Uint8Array>>;
afterAll(() => rmSync(dir, { recursive: true }));
beforeAll(async () => {
  await makeArtifact('vsix', dir);
  packed = readFileSync(join(dir, FILE));
  files = unzipSync(packed);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
});

const textOf = (name: string): string => Buffer.from(files[name] ?? []).toString();

test('the extension is small, and the same wherever it is made', async () => {
  expect(packed.length).toBeLessThan(1_000_000);
  const again = mkdtempSync(join(dir, 'again-'));
  await makeArtifact('vsix', again, { TZ: 'Asia/Tokyo' });
  expect(readFileSync(join(again, FILE)).equals(packed)).toBe(true);
});

interface VsixManifest {
  readonly PackageManifest: {
    readonly Metadata: { readonly Identity: object; readonly License: string };
    readonly Assets: { readonly Asset: readonly { readonly Path: string }[] };
  };
}

test('its manifests agree, and name files that are in it', () => {
  const xml = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '' });
  const { PackageManifest: manifest } = xml.parse(textOf('extension.vsixmanifest')) as VsixManifest;
  const { name, publisher, main } = JSON.parse(textOf('extension/package.json')) as Record<string, string>;
  expect(manifest.Metadata.Identity).toEqual({
    Language: 'en-US',
    Id: name,
    Version: VERSION,
    Publisher: publisher,
  });
  const named = [...manifest.Assets.Asset.map(({ Path }) => Path), join('extension', main ?? '')];
  expect(named.filter((path) => files[path] === undefined)).toEqual([]);
  const types = textOf('[Content_Types].xml');
  const kinds = Object.keys(files).map((path) => path.slice(path.lastIndexOf('.')));
  expect(kinds.filter((kind) => kind !== '.xml' && !types.includes(`"${kind}"`))).toEqual([]);
});

test('it carries the licenses of the packages in it', () => {
  const notices = textOf('extension/ThirdPartyNotices.txt');
  for (const name of ['vscode-languageclient', 'vscode-jsonrpc', 'semver'])
    expect(notices).toMatch(new RegExp(`^${name} \\d`, 'm'));
});

interface Extension {
  activate(context: { readonly subscriptions: unknown[] }): Promise<void>;
  deactivate(): Promise<void>;
}

interface Vscode {
  readonly editor: EventEmitter & { settings: object; documents: unknown[] };
  readonly Uri: { parse(text: string): object };
}

/** The extension as VS Code loads it, with `vscode.cjs` as VS Code. */
function loaded(): { readonly extension: Extension; readonly vscode: Vscode } {
  const packages = join(dir, 'extension/node_modules/vscode');
  cpSync(join(import.meta.dirname, 'vscode.cjs'), join(packages, 'index.js'));
  const require = createRequire(join(dir, 'extension/extension.js'));
  return { extension: require('./extension.js') as Extension, vscode: require('vscode') as Vscode };
}

test('it starts gw lsp, and shows what that finds in a document', async () => {
  const { extension, vscode } = loaded();
  const { editor, Uri } = vscode;
  editor.settings = { command: GW };
  await extension.activate({ subscriptions: [] });
  const shown = new Promise<readonly { code?: string; message: string }[]>((resolve) => {
    editor.on('diagnostics', (_, diagnostics) => diagnostics.length > 0 && resolve(diagnostics));
  });
  const uri = Uri.parse(`file://${dir}/gateway.conf`);
  const document = {
    uri,
    languageId: 'gateway',
    version: 1,
    getText: () => 'http { server { retrun 200; } }\n',
  };
  editor.documents.push(document);
  editor.emit('open', document);
  expect(await shown).toMatchObject([{ code: 'GW105', message: expect.stringContaining('"retrun"') }]);
  await extension.deactivate();
});

const useless = [
  { it: 'is missing', command: '/nowhere/gw', said: 'The program "/nowhere/gw" was not found.' },
  { it: 'is another program', command: process.execPath, said: 'is not the gateway gw.' },
];

for (const { it, command, said } of useless) {
  test(`it says so when gw ${it}, and which setting names it`, async () => {
    const { extension, vscode } = loaded();
    const message = new Promise<string>((resolve) => vscode.editor.once('error message', resolve));
    vscode.editor.settings = { command };
    await extension.activate({ subscriptions: [] });
    expect(await message).toContain(said);
    expect(await message).toContain('"gw.command"');
  });
}
