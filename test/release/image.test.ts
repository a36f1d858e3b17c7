import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { imageSettings } from '../../bin/build/release/image.mjs';
import { writeLayout } from '../../bin/build/release/oci.mjs';
import { textOf } from '../conf/files.ts';

const dir = mkdtempSync(join(tmpdir(), 'gw-image-'));
afterAll(() => rmSync(dir, { recursive: true }));

const RELEASE = { version: '1.0.0', commit: 'c0ffee', epoch: 0, repository: undefined };
const CREATED = '1970-01-01T00:00:00Z';
const digestOf = (bytes: string | Buffer): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

async function layoutWith(...layers: readonly string[]): Promise<string> {
  const layout = mkdtempSync(join(dir, 'layout-'));
  const files = layers.map((text, at) => {
    const file = join(layout, `${at}.tar.gz`);
    writeFileSync(file, gzipSync(text));
    return file;
  });
  const config = imageSettings(RELEASE);
  await writeLayout(layout, {
    layers: files,
    config,
    architecture: 'amd64',
    created: CREATED,
    name: 'gw:1.0.0',
  });
  return layout;
}

test('every document of an image is found by its digest, from the index to the content of the layers', async () => {
  const layout = await layoutWith('base', 'program');
  const read = ({ digest, size }: Descriptor): Buffer => {
    const blob = readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
    expect({ digest: digestOf(blob), size: blob.length }).toEqual({ digest, size });
    return blob;
  };
  const json = (bytes: Buffer): any => JSON.parse(bytes.toString()); // eslint-disable-line typescript/no-explicit-any
  const index = json(readFileSync(join(layout, 'index.json')));
  expect(index.manifests).toHaveLength(1);
  expect(index.manifests[0].platform).toEqual({ architecture: 'amd64', os: 'linux' });
  const manifest = json(read(index.manifests[0]));
  const config = json(read(manifest.config));
  expect(config.rootfs.diff_ids).toEqual([digestOf('base'), digestOf('program')]);
  expect(config).toMatchObject({ os: 'linux', architecture: 'amd64', created: CREATED });
  expect(manifest.layers.map((layer: Descriptor) => read(layer).length)).toHaveLength(2);
  const [loaded] = json(readFileSync(join(layout, 'manifest.json')));
  expect(loaded.Layers).toEqual(
    manifest.layers.map((layer: Descriptor) => `blobs/${layer.digest.replace(':', '/')}`),
  );
  expect(loaded.RepoTags).toEqual(['gw:1.0.0']);
});

test('the image is started as the Dockerfile says, by a number that is not root', () => {
  const { User, Entrypoint, Cmd, StopSignal, ExposedPorts, WorkingDir, Labels } = imageSettings(RELEASE);
  const text = textOf('conf/deploy/Dockerfile');
  const said = (name: string): string => new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? '';
  expect(User).toBe('999:999');
  expect(text).toContain('useradd --system --uid 999');
  expect(Entrypoint.map((word) => word.replace('/usr/bin/', ''))).toEqual(JSON.parse(said('ENTRYPOINT')));
  expect(Cmd).toEqual(JSON.parse(said('CMD')));
  expect([StopSignal, Object.keys(ExposedPorts), WorkingDir]).toEqual([
    said('STOPSIGNAL'),
    [`${said('EXPOSE')}/tcp`],
    said('WORKDIR'),
  ]);
  expect(Labels).toMatchObject({
    'org.opencontainers.image.version': '1.0.0',
    'org.opencontainers.image.revision': 'c0ffee',
  });
});
