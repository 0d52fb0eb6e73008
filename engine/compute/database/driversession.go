package database

import (
	"context"
	"database/sql/driver"
)

// driverSession is a connection of a driver of database/sql.
type driverSession struct{ conn driver.Conn }

func (s *driverSession) close() { _ = s.conn.Close() } // nothing was written

func (s *driverSession) exec(ctx context.Context, sql string) error {
	_, err := s.conn.(driver.ExecerContext).ExecContext(ctx, sql, nil)
	return err
}

func (s *driverSession) rows(ctx context.Context, query string) (driver.Rows, error) {
	return s.conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
}

func (s *driverSession) values(ctx context.Context, query string) ([]*string, error) {
	rows, err := s.rows(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // only read
	return firstRow(rows)
}
