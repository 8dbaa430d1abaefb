-- For IN with more than two values SQLite builds a table in memory each time it checks a row, which cost more than storing it: the
-- same is said with OR. The rows are as they were, so the tables' text is changed in place, as SQLite's page on ALTER TABLE has it.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
  'CHECK (state IN (''new'', ''claimed'', ''started'', ''retry'', ''done'', ''failed'', ''stuck''))',
  'CHECK (state = ''new'' OR state = ''claimed'' OR state = ''started'' OR state = ''retry'' OR state = ''done'' OR state = ''failed'' OR state = ''stuck'')')
WHERE type = 'table' AND name = 'claims';
UPDATE sqlite_schema SET sql = replace(replace(sql,
  'CHECK (cause IN (''event'', ''retry'', ''resend'', ''redrive'', ''canary''))',
  'CHECK (cause = ''event'' OR cause = ''retry'' OR cause = ''resend'' OR cause = ''redrive'' OR cause = ''canary'')'),
  'CHECK (outcome IN (''delivered'', ''refused'', ''unknown'', ''not_sent''))',
  'CHECK (outcome = ''delivered'' OR outcome = ''refused'' OR outcome = ''unknown'' OR outcome = ''not_sent'')')
WHERE type = 'table' AND name = 'attempts';
PRAGMA writable_schema = RESET;
