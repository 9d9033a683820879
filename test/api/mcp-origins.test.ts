import { describe, expect, it } from 'vitest';
import { checkMcp, corsHeaders } from '../../api/mcp/headers.js';

const listed = ['https://App.example:443', 'http://tools.example:8080'];
const config = () => ({ mcp: { enabled: true, allowedOrigins: listed } }) as never;
const asked = (origin: string) => ({ headers: { origin } });

describe('allowed_origins (MC-3)', () => {
  it.each(['https://app.example', 'http://tools.example:8080'])('lets %s call, as a browser writes an entry', (origin) => {
    expect(() => checkMcp({ config }, asked(origin))).not.toThrow();
    expect(corsHeaders({ config }, asked(origin))).toMatchObject({ 'Access-Control-Allow-Origin': origin });
  });

  it.each([
    'http://localhost:3000',
    'http://app.example',
    'https://app.example:8443',
    'https://app.example.evil.example',
    'http://tools.example',
    'null',
    '',
  ])('refuses %j', (origin) => {
    expect(() => checkMcp({ config }, asked(origin))).toThrow(expect.objectContaining({ code: 'auth.forbidden' }));
    expect(corsHeaders({ config }, asked(origin))).toEqual({ Vary: 'Origin' });
  });
});
