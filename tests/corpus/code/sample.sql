CREATE TABLE IF NOT EXISTS users (
 id int
);

create or replace function f() returns int as $$ $$;
