/** The extension for VS Code in one file, with the language client in it: `gw-V.vsix`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { zipSync } from 'fflate';
import { readJson } from './json.mjs';
import { licenseOf } from './licenses.mjs';

const EXTENSION = 'grammar/editors/vscode';
/** The first time that a zip can tell; the same everywhere, because a zip has local times. */
const TIME = new Date(1980, 0, 1);
const TYPES = {
  json: 'application/json',
  js: 'application/javascript',
  md: 'text/markdown',
  txt: 'text/plain',
};

/** Makes the artifact of a release. */
export async function make({ out, version, source }) {
  const { client, notices } = await bundle(source);
  const read = (name) => readFileSync(join(source, EXTENSION, name), 'utf8');
  // What the file in the repository says to npm and to those who work on it is of no use in VS Code.
  const { private: _, ...manifest } = JSON.parse(read('package.json'));
  const files = {
    'package.json': `${JSON.stringify({ ...manifest, version, main: './extension.js' }, undefined, 2)}\n`,
    'extension.js': client,
    'gateway.tmLanguage.json': read('gateway.tmLanguage.json'),
    'language-configuration.json': read('language-configuration.json'),
    'readme.md': read('README.md'),
    'LICENSE.txt': readFileSync(join(source, 'LICENSE'), 'utf8'),
    'ThirdPartyNotices.txt': notices,
  };
  const entries = [
    ['[Content_Types].xml', contentTypes()],
    ['extension.vsixmanifest', vsixManifest({ ...manifest, version })],
    ...Object.entries(files).map(([name, text]) => [`extension/${name}`, text]),
  ];
  const zipped = Object.fromEntries(entries.map(([name, text]) => [name, new TextEncoder().encode(text)]));
  const file = join(out, `gw-${version}.vsix`);
  writeFileSync(file, zipSync(zipped, { level: 9, mtime: TIME }));
  return [file];
}

/** The extension with its packages, and the licenses of these. */
async function bundle(source) {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(source, EXTENSION, 'extension.cjs')],
    absWorkingDir: source,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    external: ['vscode'],
    legalComments: 'none',
    metafile: true,
    write: false,
  });
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap(
      (path) => path.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? [],
    ),
  );
  return {
    client: outputFiles[0].text,
    notices: [...packages]
      .sort()
      .map((path) => notice(join(source, path)))
      .join('\n'),
  };
}

function notice(directory) {
  const { name, version } = readJson(join(directory, 'package.json'));
  const license = licenseOf(directory);
  // It has to be passed on.
  if (license === undefined) throw new Error(`${directory} has no license`);
  return `${name} ${version}\n\n${license}\n`;
}

function contentTypes() {
  const types = { ...TYPES, vsixmanifest: 'text/xml' };
  const defaults = Object.entries(types).map(
    ([extension, type]) => `<Default Extension=".${extension}" ContentType="${type}"/>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${defaults.join('')}</Types>
`;
}

/** What VS Code reads before it unpacks the extension. */
function vsixManifest({
  name,
  displayName,
  description,
  version,
  publisher,
  engines,
  categories,
  keywords,
  extensionKind,
}) {
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
    <DisplayName>${displayName}</DisplayName>
    <Description xml:space="preserve">${description}</Description>
    <Tags>${keywords.join(',')}</Tags>
    <Categories>${categories.join(',')}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${extensionKind.join(',')}"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/readme.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}
